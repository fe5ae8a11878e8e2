import { expect, test } from 'bun:test'
import { formatCsv } from './csv.ts'

test('cells with commas, quotes and line breaks are quoted', () => {
  expect(formatCsv([['a,b', 'say "x"', 'two\nlines', 1.5, null]])).toBe(
    '"a,b","say ""x""","two\nlines",1.5,\r\n',
  )
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1'])('%j is not a formula', (text) => {
  expect(formatCsv([[text]])).toBe(`'${text}\r\n`)
})

test('negative numbers stay numbers', () => {
  expect(formatCsv([[-1]])).toBe('-1\r\n')
})
