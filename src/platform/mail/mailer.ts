import type { Transporter } from 'nodemailer'
import { BoundedQueue, QueueFullError } from '../concurrency/bounded-queue.ts'
import type { SmtpSettings } from './settings.ts'

export interface Mail {
  /** One address. */
  to: string
  subject: string
  /** Plain text. */
  text: string
}

/** The reason a mail was not sent, without its content or the credentials. */
export class MailError extends Error {
  readonly code: string
  constructor(code: string) {
    super(`The mail was not sent (${code}).`)
    this.code = code
  }
}

const maxRunning = 4
const maxSubjectLength = 200
const maxTextLength = 100_000
const connectTimeoutMs = 10_000
/** Milliseconds without a byte from the server. */
const idleTimeoutMs = 15_000
/** Milliseconds for one mail, from connecting to the server's confirmation. */
const totalTimeoutMs = 60_000

const address = /^[^\s<>@,;:"()[\]\\]{1,64}@[^\s<>@,;:"()[\]\\]{1,190}$/u

/** Sends mail through the operator's server: a few at a time, and others wait in a bounded queue. */
export class Mailer {
  readonly #queue: BoundedQueue

  constructor(maxWaiting = 500) {
    this.#queue = new BoundedQueue(maxRunning, maxWaiting)
  }

  /** Resolves when the server has accepted the mail. */
  async send(settings: SmtpSettings, mail: Mail): Promise<void> {
    if (!address.test(mail.to)) throw new MailError('invalid address')
    try {
      await this.#queue.run(() => deliver(settings, mail))
    } catch (error) {
      throw error instanceof QueueFullError ? new MailError(error.message) : error
    }
  }

  /** Resolves when nothing waits or is being sent. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }
}

/** Connects and signs in, without a mail. */
export function verifyMailServer(settings: SmtpSettings): Promise<void> {
  return withTransport(settings, (transport) => transport.verify())
}

function deliver(settings: SmtpSettings, { to, subject, text }: Mail): Promise<void> {
  return withTransport(settings, (transport) =>
    transport.sendMail({
      from: settings.from,
      // As an object, so that an address is never parsed as a list.
      to: { name: '', address: to },
      subject: subject.replace(/\s+/g, ' ').slice(0, maxSubjectLength),
      text: text.slice(0, maxTextLength),
    }),
  )
}

async function withTransport(
  settings: SmtpSettings,
  use: (transport: Transporter) => Promise<unknown>,
): Promise<void> {
  // Loaded with the first mail.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host: settings.host,
    port: settings.port,
    secure: settings.tls === 'implicit',
    requireTLS: settings.tls === 'starttls',
    ignoreTLS: settings.tls === 'none',
    ...(settings.user !== undefined && { auth: { user: settings.user, pass: settings.password ?? '' } }),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    socketTimeout: idleTimeoutMs,
    // The text is the whole mail: nothing is read from a file or another server.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new MailError('timeout')), totalTimeoutMs)
  try {
    await Promise.race([use(transport), timeout.promise])
  } catch (error) {
    throw error instanceof MailError ? error : new MailError(codeOf(error))
  } finally {
    clearTimeout(timer)
    transport.close()
  }
}

/** The message of an error could quote the server's reply. */
function codeOf(error: unknown): string {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown error'
}
