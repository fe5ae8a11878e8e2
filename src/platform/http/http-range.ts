import type { ByteRange } from '../files/blob-store.ts'

/**
 * The part that a Range header asks for (RFC 9110): null for the whole, which is also the answer to several ranges, to
 * other units and to what cannot be read; `unsatisfiable` if the part is outside.
 */
export function parseRange(header: string | null, size: number): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] =
    /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.replaceAll(' ', '') ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '')
    return last === '0' ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(size, Number(last) + 1) }
}
