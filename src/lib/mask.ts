/** What stands for the part of a secret nobody may see, and for the whole of a short one. */
export const fullMask = '********'

/** Six characters of a shorter secret would be too many. */
const minPartlyShownLength = 20

/** Enough of a secret to recognise it by. */
export function maskSecret(secret: string): string {
  const letters = [...secret]
  if (letters.length < minPartlyShownLength) return fullMask
  return letters.slice(0, 3).join('') + fullMask + letters.slice(-3).join('')
}

/** The form of `mask`, whatever the secret was: a client that sends it back has not chosen a new one. */
export function isMasked(text: string): boolean {
  return /^(?:.{3}\*{8}.{3}|\*{8})$/su.test(text)
}

/** An address without the user name and password there may be in it. */
export function maskUserinfo(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, `$1${fullMask}@`)
}
