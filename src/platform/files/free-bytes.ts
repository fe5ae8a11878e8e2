/** Returns the memory of bytes that are read no more to the system now, not when garbage is collected. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  // Others may read the rest of a buffer that has more.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
