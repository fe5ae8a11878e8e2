import type { Logger } from 'pino'
import { type Mail, MailError, type Mailer } from './mailer.ts'
import type { SmtpSettings } from './settings.ts'

/** The parts of the gateway that send mail. */
export interface MailDeps {
  log: Logger
  mailer: Mailer
  settings: { smtp?: SmtpSettings | undefined }
}

/** Whether the operator has configured a mail server. */
export function canSendMail({ settings }: Pick<MailDeps, 'settings'>): boolean {
  return settings.smtp !== undefined
}

/** Resolves when the mail server has accepted it; rejects with a `MailError`. */
export async function sendMail({ mailer, settings }: MailDeps, mail: Mail): Promise<void> {
  if (!settings.smtp) throw new MailError('smtp is not configured')
  await mailer.send(settings.smtp, mail)
}

/** For a reply that must not wait for the mail, or show whether there was one. */
export function sendMailInBackground(deps: MailDeps, mail: Mail): void {
  sendMail(deps, mail).catch((error: unknown) => {
    const reason = error instanceof MailError ? error.message : 'unknown error'
    deps.log.warn({ reason }, 'mail not sent')
  })
}
