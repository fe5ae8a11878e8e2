/** Whether the character at `end` is escaped: an odd number of backslashes precedes it. */
export function isEscaped(text: string, start: number, end: number): boolean {
  let at = end
  while (at > start && text.charCodeAt(at - 1) === backslash) at--
  return (end - at) % 2 === 1
}

/** The position of the closing quote. `indexOf` is far faster on long strings than a loop. */
export function findStringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let at = end
    while (at > from && text.charCodeAt(at - 1) === backslash) at--
    if ((end - at) % 2 === 0) return end
  }
  return text.length
}

const backslash = 0x5c
