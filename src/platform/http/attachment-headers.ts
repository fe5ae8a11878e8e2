/** Headers for bytes from users: they prevent browsers from interpreting the content, whatever it is. */
export function attachmentHeaders(filename: string): Record<string, string> {
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': formatContentDisposition(filename),
    'x-content-type-options': 'nosniff',
  }
}

/** The last segment only, in the one encoding that preserves every name (RFC 6266). */
function formatContentDisposition(filename: string): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1)
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return `attachment; filename*=UTF-8''${encoded}`
}
