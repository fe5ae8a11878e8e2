/** Cookie with the path to continue at after sign-in. Sent to the sign-in pages only. */
export const returnCookie = { name: 'headgate_return', path: '/signin', maxAge: 600 }

const base = 'http://headgate.invalid'
const maxLength = 3800

/** A path of this server; null for anything that a browser could take for another site. */
export function parseOwnPath(text: string | null): string | null {
  if (text === null || text.length > maxLength || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return null
  const url = URL.parse(text, base)
  if (!url || url.origin !== base) return null
  const path = url.pathname + url.search + url.hash
  // `/.//evil.example` becomes `//evil.example` when it is parsed.
  return /^\/(?![/\\])/.test(path) ? path : null
}
