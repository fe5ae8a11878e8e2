import { describe, expect, test } from 'bun:test'
import { type FilterableFields, parseEqualities, parseValueFilter, planFilter } from './filter.ts'
import { ScimError } from './protocol.ts'

const fields: FilterableFields = new Map([
  ['username', 'exact'],
  ['active', 'exact'],
  ['emails.value', 'narrowing'],
])

describe('SCIM filters', () => {
  test.each([
    ['userName eq "A b"', [[{ path: 'username', value: 'A b' }]]],
    ['active eq True', [[{ path: 'active', value: true }]]],
    ['active eq FALSE', [[{ path: 'active', value: false }]]],
    ['USERNAME EQ "x"', [[{ path: 'username', value: 'x' }]]],
    ['userName eq "say \\"hi\\" \\u00e9 and or ]"', [[{ path: 'username', value: 'say "hi" é and or ]' }]]],
    ['userName eq "null"', [[{ path: 'username', value: 'null' }]]],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a"', [[{ path: 'username', value: 'a' }]]],
    [
      'userName eq "a" or userName eq "b"',
      [[{ path: 'username', value: 'a' }], [{ path: 'username', value: 'b' }]],
    ],
    [
      'userName eq "a" and active eq true',
      [
        [
          { path: 'username', value: 'a' },
          { path: 'active', value: true },
        ],
      ],
    ],
  ])('SQL decides %s', (text, branches) => {
    expect(planFilter(text, fields)).toMatchObject({ branches, isExact: true })
  })

  test.each([
    ['userName co "ALI"', true],
    ['userName sw "ali" and displayName eq "alice"', true],
    ['userName ew "nobody"', false],
    ['displayName pr', true],
    ['title pr', false],
    ['active eq True and displayName pr', true],
    ['active eq "True" and displayName pr', true],
    ['active eq "zzz" and displayName pr', false],
    ['active ne FALSE and displayName pr', true],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "d1"', true],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "d2"', false],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:division pr', false],
    ['not (userName eq "bob")', true],
    ['emails[type eq "work" and value co "@example"]', true],
    ['emails[type eq "home" and value co "@example"]', false],
    ['emails.value eq "ALICE@example.com"', true],
    ['emails eq "alice@example.com"', true],
    ['emails eq "other@example.com"', false],
    ['name.familyName eq "liddell"', true],
    ['name.middleName eq "x"', false],
    ['externalId eq "ABC"', false],
    ['externalId eq "abc"', true],
    ['phoneNumbers.value eq "1"', false],
    ['(userName eq "x" or displayName eq "Alice") and name.familyName co "dd"', true],
    ['meta.lastModified gt "2020-01-01T00:00:00Z"', true],
  ])('in memory, %s is %s', (text, expected) => {
    const alice = {
      userName: 'alice',
      active: true,
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'D1' },
      displayName: 'Alice',
      externalId: 'abc',
      name: { familyName: 'Liddell' },
      emails: [{ type: 'work', value: 'Alice@example.com' }],
      meta: { lastModified: '2026-01-01T00:00:00.000Z' },
    }
    expect(planFilter(text, fields).matches(alice)).toBe(expected)
  })

  test('a filter that SQL only narrows down, or cannot express, is not exact', () => {
    expect(planFilter('emails.value eq "a"', fields)).toMatchObject({
      isExact: false,
      branches: [[{ path: 'emails.value', value: 'a' }]],
    })
    expect(planFilter('userName eq "a" or title eq "b"', fields)).toMatchObject({
      isExact: false,
      branches: null,
    })
    expect(planFilter('userName eq "a" and title eq "b"', fields)).toMatchObject({
      isExact: false,
      branches: [[{ path: 'username', value: 'a' }]],
    })
    expect(planFilter(null, fields)).toMatchObject({ isExact: true, branches: null })
  })

  test.each([
    'userName',
    'userName eq',
    'userName xx "a"',
    'userName eq "a" foo',
    'userName pr x',
    'displayName pr "x"',
    'userName eq "a" or',
    'or userName eq "a"',
    'userName eq "a" and or userName eq "b"',
    'userName eq "a" userName eq "b"',
    'active eq true userName eq "b"',
    '(userName eq "a") (userName eq "b")',
    '(userName eq "a" or) and active eq true',
    'urn:example:other:2.0:User:department eq "x"',
    Array.from({ length: 12 }, () => '(active eq trueor active eq false)').join(' and '),
    Array.from({ length: 12 }, () => '(active eq 1 or_b eq 1)').join(' and '),
    'userName eq "unclosed',
    'userName eq "bad \\x escape"',
    'userName eq "nul \\u0000"',
    '(((',
    '))',
    '__proto__ eq "x"',
    'constructor eq "x"',
    'toString.length eq "x"',
    'not (userName eq "a" or userName eq "b")',
    Array.from({ length: 30 }, (_, i) => `(userName eq "${i}" or userName eq "x")`).join(' and '),
    `userName eq "${'a'.repeat(5000)}"`,
  ])('400 invalidFilter for %s', (text) => {
    const attempt = () => planFilter(text, fields)
    expect(attempt).toThrow(ScimError)
    expect(attempt).toThrow('filter is not supported')
  })

  test('the filter of a path names values or describes an element', () => {
    expect(parseValueFilter('value eq "a"')).toEqual(['a'])
    expect(parseValueFilter('value eq "a" or value eq "b.c"')).toEqual(['a', 'b.c'])
    expect(parseValueFilter('display eq "a"')).toBeUndefined()
    expect(parseValueFilter('value co "a"')).toBeUndefined()
    expect(parseEqualities('type eq "work"')).toEqual({ type: 'work' })
    expect(parseEqualities('type eq "work" and primary eq true')).toEqual({ type: 'work', primary: true })
    expect(parseEqualities('type ne "work"')).toBeUndefined()
  })
})
