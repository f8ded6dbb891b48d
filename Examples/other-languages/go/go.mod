module transfers

go 1.19
