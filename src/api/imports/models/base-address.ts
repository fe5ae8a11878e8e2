/** An address without slashes at its end. Reads each character once, however many slashes it has. */
export function trimBase(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end--
  return address.slice(0, end)
}
