// Wherry from Go, with cgo. The file wherry.go has the client.
//
// usage: transfers BASE-URL PICTURE FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func run(base, picture, target string) error {
	client, err := NewClient(base)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := context.Background()

	greeting, err := client.Get(ctx, "text/hello")
	if err != nil {
		return err
	}
	fmt.Printf("GET: %d %s\n", greeting.Status, greeting.Body)

	type result struct {
		size int
		err  error
	}
	results := make(chan result, 50)
	for i := 0; i < cap(results); i++ {
		path := fmt.Sprintf("bytes/%d?delay_ms=20", 1000+i)
		go func() {
			response, err := client.Get(ctx, path)
			results <- result{len(response.Body), err}
		}()
	}
	total := 0
	for i := 0; i < cap(results); i++ {
		result := <-results
		if result.err != nil {
			return result.err
		}
		total += result.size
	}
	fmt.Printf("%d responses, %d bytes\n", cap(results), total)

	upload, err := client.Upload(ctx, "upload-photo", picture, 0.5, Reports{
		Progress: func(done, expected int64) { fmt.Printf("upload: %d of %d bytes\n", done, expected) },
		Image: func(name string, original, encoded int64) {
			fmt.Printf("%s: %d bytes compressed to %d\n", name, original, encoded)
		},
	})
	if err != nil {
		return err
	}
	fmt.Printf("upload: %d\n", upload.Status)

	err = client.Download(ctx, "bytes/3000000?rate=6000000", target, Reports{
		Progress: func(done, expected int64) { fmt.Printf("download: %d of %d bytes\n", done, expected) },
	})
	if err != nil {
		return err
	}
	fmt.Println("saved", target)

	_, err = client.Get(ctx, "status/404")
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	fmt.Printf("error: %s: %s\n", failure.Reason, failure.Message)
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: transfers BASE-URL PICTURE FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
