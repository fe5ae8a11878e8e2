import { describe, expect, test } from 'bun:test'
import { findTexts, redactWith } from '../../../test/support/detectors.ts'
import { findEmails } from './email.ts'

describe('email addresses', () => {
  test.each([
    'user+tag@domain.co',
    'a@b.de',
    "o'brien@example.ie",
    'first.last@sub.mail.example.co.uk',
    'jürgen@example.de',
    'x@münchen.example',
    'x@xn--mnchen-3ya.example',
    '用户@例子.公司',
    'user@[192.0.2.1]',
    'bob%40example.com',
    'jane＠example.org',
    'jane [at] example [dot] org',
    'jane(at)example(dot)org',
    'jane {at} example.org',
    'jane dot doe at example dot com',
    'j@163.com',
  ])('%s', (address) => {
    expect(redactWith(findEmails, address)).toBe('[EMAIL]')
    expect(findTexts(findEmails, `Write to ${address}, please.`)).toEqual([address])
  })

  test.each([
    ['"jane@example.org"', '"[EMAIL]"'],
    ['<jane@example.org>', '<[EMAIL]>'],
    ['mailto:jane@example.org?subject=x', 'mailto:[EMAIL]?subject=x'],
    ['https://a.example/u?email=jane@example.org&x=1', 'https://a.example/u?email=[EMAIL]&x=1'],
    ['邮箱是jane@example.org请回复', '邮箱是[EMAIL]请回复'],
    ['a@example.org,b@example.org', '[EMAIL],[EMAIL]'],
    ['jane@example.org.', '[EMAIL].'],
  ])('boundaries: %s', (text, redacted) => {
    expect(redactWith(findEmails, text)).toBe(redacted)
  })

  test.each([
    '@types/node',
    'user@localhost',
    'icon@2x.png',
    'react@18.3.0-canary.next',
    'npm install left-pad@1.3.0',
    'https://user:password@host.example.org/path',
    'postgres://app:secret@db.example.org:5432/app',
    'git@github.com:example/tools.git',
    'deploy@web-1.example.com:/srv/app',
    'ssh deploy@web-1.example.com',
    '@alice@social.example',
    '@Component.create',
    'a @ b.c',
    'the cat sat at home dot',
    'foo@bar',
    '',
  ])('none in %s', (text) => {
    expect(findTexts(findEmails, text)).toEqual([])
  })
})
