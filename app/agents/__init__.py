"""What an assistant measures with: five tools, each of one request and one answer."""
