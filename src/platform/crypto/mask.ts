/** Replaces the middle of a secret, or all of a short one. */
export const fullMask = '********'

/** Characters; six visible ones of a shorter secret would be too many. */
const minPartlyShownLength = 20

/** Shows enough of a secret to recognize it. */
export function maskSecret(secret: string): string {
  const letters = [...secret]
  if (letters.length < minPartlyShownLength) return fullMask
  return letters.slice(0, 3).join('') + fullMask + letters.slice(-3).join('')
}

/** Whether the text is a masked secret: a client that sends it back does not set a new one. */
export function isMasked(text: string): boolean {
  return /^(?:.{3}\*{8}.{3}|\*{8})$/su.test(text)
}

/** Masks the user name and password of a URL. */
export function maskUserinfo(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, `$1${fullMask}@`)
}
