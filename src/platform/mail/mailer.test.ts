import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { pino } from 'pino'
import { type Inbox, startMailServer } from '../../../test/support/mail-server.ts'
import { Mailer } from './mailer.ts'
import { sendMail, sendMailInBackground } from './send-mail.ts'
import { smtpSettings } from './settings.ts'

let inbox: Inbox
beforeAll(async () => {
  inbox = await startMailServer({ user: 'headgate', password: 'canary-password' })
})
afterAll(() => inbox.close())

const settingsOf = (changes: object = {}) =>
  smtpSettings.parse({
    host: '127.0.0.1',
    port: inbox.port,
    tls: 'none',
    user: 'headgate',
    password: 'canary-password',
    from: 'Headgate <gate@example.com>',
    ...changes,
  })

function createDeps(changes: object = {}) {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const uses: unknown[] = []
  const audit = { secretUses: { addOwned: (...use: unknown[]) => void uses.push(use) } }
  const deps = { log, mailer: new Mailer(), settings: { smtp: settingsOf(changes) }, audit }
  return { lines, uses, deps }
}

const mail = { to: 'ada@example.com', subject: 'Hello', text: 'Grüße\nline two' }

describe('mail', () => {
  test('is sent as plain text from the configured sender', async () => {
    await sendMail(createDeps().deps, mail)
    const received = await inbox.next()
    expect(received).toMatchObject({ from: 'gate@example.com', to: ['ada@example.com'], text: mail.text })
    expect(received.source).toContain('Subject: Hello')
    expect(received.source).toContain('From: Headgate <gate@example.com>')
  })

  test('many mails wait their turn, and beyond the queue they are refused', async () => {
    const deps = { ...createDeps().deps, mailer: new Mailer(8) }
    const results = await Promise.allSettled(
      Array.from({ length: 15 }, (_, i) => sendMail(deps, { ...mail, to: `m${i}@example.com` })),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(12)
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(3)
    for (let i = 0; i < 12; i++) await inbox.next()
  })

  test.each([
    'a@example.com, b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'Ada <a@example.com>',
    '"a@example.com b"@example.org',
    'no-address',
    '',
  ])('S5 %j is not an address', async (to) => {
    expect(sendMail(createDeps().deps, { ...mail, to })).rejects.toThrow('invalid address')
  })

  test('a line break in the subject adds no header', async () => {
    await sendMail(createDeps().deps, { ...mail, subject: 'Hello\r\nBcc: b@example.com' })
    const { source } = await inbox.next()
    expect(source).toContain('Subject: Hello Bcc: b@example.com')
  })

  test('S12 R40 a failure is logged without the password, the address or the text', async () => {
    const { deps, lines } = createDeps({ password: 'canary-wrong' })
    sendMailInBackground(deps, { ...mail, text: 'canary-text' })
    await deps.mailer.idle()
    await Bun.sleep(0)
    expect(lines.join()).toContain('EAUTH 535')
    expect(lines.join()).not.toContain('canary')
    expect(lines.join()).not.toContain('ada@')
  })

  test('starttls is required: a server without it gets neither credentials nor mail', async () => {
    expect(sendMail(createDeps({ tls: 'starttls' }).deps, mail)).rejects.toThrow('not sent')
  })

  test('a server that hangs up is an error', async () => {
    const server: Server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    await expect(sendMail(createDeps({ port }).deps, mail)).rejects.toThrow('not sent')
    server.close()
  })
})

describe('settings', () => {
  test.each([
    [{ host: 'mail.example.com' }, 'tls'],
    [{ user: undefined }, 'user'],
    [{ from: 'a@example.com\r\nBcc: b@example.com' }, 'from'],
    [{ from: 'nobody' }, 'from'],
  ])('%j is refused', (changes, field) => {
    expect(() => settingsOf(changes)).toThrow(field)
  })
})
