/* The least a process can do: the limit of starting one. */
int main(void) { return 0; }
