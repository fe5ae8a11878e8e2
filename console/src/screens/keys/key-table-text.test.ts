import { expect, test } from 'bun:test'
import { parseKeyTable } from './key-table-text.ts'

const empty = { limit: null, limitReset: null, tier: null, owner: null, expires: null }

test('names, one per line', () => {
  expect(parseKeyTable('checkout\n\n search \r\n')).toEqual({
    rows: [
      { ...empty, name: 'checkout' },
      { ...empty, name: 'search' },
    ],
  })
  expect(parseKeyTable('')).toEqual({ rows: [] })
})

test('CSV with columns in any order, and cells of a spreadsheet', () => {
  expect(parseKeyTable('Owner,name,limit,limit_reset\nada@x.org,"a, b",$5,daily\n,c,,')).toEqual({
    rows: [
      { ...empty, name: 'a, b', limit: 5, limitReset: 'daily', owner: 'ada@x.org' },
      { ...empty, name: 'c' },
    ],
  })
  expect(parseKeyTable('name\texpires\na\t2027-01-31')).toEqual({
    rows: [{ ...empty, name: 'a', expires: '2027-01-31' }],
  })
})

test.each([
  ['a,b', 'name the columns'],
  ['name,color\na,red', 'no column color'],
  ['name,limit\na,much', 'Key 1: much is not'],
  ['name,limit_reset\na,yearly', 'Key 1: limit_reset'],
  ['name,expires\na,tomorrow', 'Key 1: expires'],
  ['name,limit\n,5', 'name is missing'],
  ['x\n'.repeat(201), 'At most 200'],
])('%j says what is wrong', (text, problem) => {
  expect(parseKeyTable(text)).toEqual({ problem: expect.stringContaining(problem) })
})
