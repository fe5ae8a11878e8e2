import { expect, test } from 'bun:test'
import { nameField, toSingleLine } from './name-schema.ts'

test.each(['a\r\nb', 'a\nb', 'a\u0000b', 'a\u001bb', 'a\u0085b', 'a\u2028b', 'name\n'])(
  '%j is not a name',
  (text) => {
    expect(nameField(100).safeParse(text).error?.issues[0]?.message).toContain('control characters')
  },
)

test.each([' <b>Ops</b> & "co" ', "O'Brien", 'Zoë 小林 👩‍💻'])('%j is a name', (text) => {
  expect(nameField(100).parse(text)).toBe(text.trim())
})

test('a name from elsewhere is put on one line', () => {
  expect(toSingleLine(' Ada\r\nBcc: eve@example.com\u0000 ')).toBe('Ada Bcc: eve@example.com')
})
