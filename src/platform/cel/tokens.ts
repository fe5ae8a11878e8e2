/** Says what is wrong with a condition, and where. */
export class CelError extends Error {
  constructor(problem: string, at: number) {
    super(`${problem} (at character ${at + 1})`)
  }
}

export interface Token {
  kind: 'name' | 'string' | 'int' | 'symbol' | 'end'
  /** The decoded value of a string, the source text of any other token. */
  text: string
  at: number
}

const symbols = ['&&', '||', '==', '!=', '<=', '>=', '<', '>', '!', '?', ':', '.', ',', '(', ')', '[', ']']

export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < source.length) {
    const start = at
    const char = source.charAt(at)
    if (/\s/.test(char)) {
      at++
    } else if (char === '"' || char === "'") {
      const literal = readString(source, at)
      tokens.push({ kind: 'string', text: literal.value, at: start })
      at = literal.end
    } else if (/[0-9]/.test(char)) {
      at = skip(source, at, /[0-9]/)
      tokens.push({ kind: 'int', text: source.slice(start, at), at: start })
    } else if (/[A-Za-z_]/.test(char)) {
      at = skip(source, at, /[A-Za-z0-9_]/)
      tokens.push({ kind: 'name', text: source.slice(start, at), at: start })
    } else {
      const symbol = symbols.find((text) => source.startsWith(text, at))
      if (symbol === undefined) throw new CelError(`unexpected ${JSON.stringify(char)}`, at)
      tokens.push({ kind: 'symbol', text: symbol, at: start })
      at += symbol.length
    }
  }
  return [...tokens, { kind: 'end', text: '', at: source.length }]
}

function skip(source: string, start: number, pattern: RegExp): number {
  let at = start
  while (at < source.length && pattern.test(source.charAt(at))) at++
  return at
}

const escapes: Record<string, string> = { '\\': '\\', '"': '"', "'": "'", n: '\n', r: '\r', t: '\t' }

function readString(source: string, start: number): { value: string; end: number } {
  const quote = source.charAt(start)
  let value = ''
  for (let at = start + 1; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === quote) return { value, end: at + 1 }
    if (char === '\n' || char === '\r') break
    if (char !== '\\') {
      value += char
      continue
    }
    const escaped = escapes[source.charAt(++at)]
    if (escaped === undefined) throw new CelError('unknown escape in a string', at)
    value += escaped
  }
  throw new CelError('a string has no end', start)
}
