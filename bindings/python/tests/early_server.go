// Wherry: a server of Go's net/http that responds without reading the request
// SPDX-License-Identifier: Apache-2.0

// usage: early_server CERTIFICATE KEY
//
// Serves HTTPS until its standard input ends. Prints its port. The path is the status of the response.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.ServeTLS(listener, http.HandlerFunc(respond), os.Args[1], os.Args[2]))
}

func respond(response http.ResponseWriter, request *http.Request) {
	status, err := strconv.Atoi(request.URL.Path[1:])
	if err != nil {
		status = 404
	}
	response.WriteHeader(status)
	_, _ = io.WriteString(response, "early")
}
