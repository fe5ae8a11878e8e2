import { expect, test } from 'bun:test'
import { toCsv } from './csv.ts'

test('no cell is a formula', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1']
  expect(toCsv(['a'], [cells])).toBe("a\r\n'=1+1,'+1,'-1,'@SUM(A1),'\t=1\r\n")
})

test('quotes, commas and line ends stay in their cell', () => {
  expect(toCsv(['a', 'b'], [['x "y", z', 'one\ntwo']])).toBe('a,b\r\n"x ""y"", z","one\ntwo"\r\n')
})

test('numbers are numbers, and nothing is empty', () => {
  expect(toCsv(['a', 'b', 'c'], [[-1.5, null, true]])).toBe('a,b,c\r\n-1.5,,true\r\n')
})
