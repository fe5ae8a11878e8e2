/** The text in parts of about this length. Never splits a surrogate pair. */
export function* sliceText(text: string, length: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const to = from + length
    const end = isHighSurrogate(text.charCodeAt(to - 1)) ? to + 1 : to
    yield text.slice(from, end)
    from = end
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
