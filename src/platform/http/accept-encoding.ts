/** Whether a client with this `Accept-Encoding` accepts the encoding. */
export function acceptsEncoding(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name, quality] = part.split(';')
    return name?.trim().toLowerCase() === encoding && !/^\s*q=0(?:\.0*)?\s*$/.test(quality ?? '')
  })
}
