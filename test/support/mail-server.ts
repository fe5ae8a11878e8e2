import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  from: string
  to: string[]
  /** Headers and body as sent. */
  source: string
  /** The decoded body. */
  text: string
}

/** A mail server on loopback, and what it received. */
export interface Inbox {
  port: number
  /** The next mail, which may not have arrived yet. */
  next(): Promise<ReceivedMail>
  /** Number of mails that have arrived and were not read. */
  readonly unread: number
  close(): Promise<void>
}

export async function startMailServer(credentials?: { user: string; password: string }): Promise<Inbox> {
  const mails: ReceivedMail[] = []
  const readers: ((mail: ReceivedMail) => void)[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', ...(credentials ? [] : ['AUTH'])],
    authOptional: !credentials,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onAuth({ username, password }, _session, callback) {
      const isKnown = username === credentials?.user && password === credentials?.password
      callback(isKnown ? null : new Error('wrong'), isKnown ? { user: username } : undefined)
    },
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const source = Buffer.concat(chunks).toString('utf8')
        const mail = {
          from: envelope.mailFrom ? envelope.mailFrom.address : '',
          to: envelope.rcptTo.map(({ address }) => address),
          source,
          text: decodeBody(source),
        }
        const reader = readers.shift()
        if (reader) reader(mail)
        else mails.push(mail)
        callback()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as { port: number }).port,
    next: () => {
      const mail = mails.shift()
      return mail ? Promise.resolve(mail) : new Promise((resolve) => readers.push(resolve))
    },
    get unread() {
      return mails.length
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function decodeBody(source: string): string {
  const [head = '', body = ''] = source.split(/\r\n\r\n(.*)/s)
  const text = /quoted-printable/i.test(head) ? decodeQuotedPrintable(body) : body
  const isBase64 = /transfer-encoding: base64/i.test(head)
  return (isBase64 ? Buffer.from(body, 'base64').toString('utf8') : text).replaceAll('\r\n', '\n').trimEnd()
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
