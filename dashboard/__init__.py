"""What people see: the server's pages, sockets and REST, one Django app per room."""
