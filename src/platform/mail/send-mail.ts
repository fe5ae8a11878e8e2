import type { Logger } from 'pino'
import type { SecretUses } from '../../governance/audit/secret-uses.ts'
import { subsystemLog } from '../logging/subsystem-log.ts'
import { type Mail, MailError, type Mailer } from './mailer.ts'
import type { SmtpSettings } from './settings.ts'

/** The parts of the gateway that send mail. */
export interface MailDeps {
  log: Logger
  mailer: Mailer
  settings: { smtp?: SmtpSettings | undefined }
  audit: { secretUses: Pick<SecretUses, 'addOwned'> }
}

const installationSecret = { organizationId: null, workspaceId: null, name: null }

/** Whether the operator has configured a mail server. */
export function canSendMail({ settings }: Pick<MailDeps, 'settings'>): boolean {
  return settings.smtp !== undefined
}

/** Resolves when the mail server has accepted it; rejects with a `MailError`. */
export async function sendMail({ mailer, settings, audit }: MailDeps, mail: Mail): Promise<void> {
  const { smtp } = settings
  if (!smtp) throw new MailError('smtp is not configured')
  if (smtp.password !== undefined) audit.secretUses.addOwned('smtp', 'smtp.password', installationSecret)
  await mailer.send(smtp, mail)
}

/** Sends a mail for a response that must not wait for it, or show whether there was one. */
export function sendMailInBackground(deps: MailDeps, mail: Mail): void {
  sendMail(deps, mail).catch((error: unknown) => {
    const reason = error instanceof MailError ? error.message : 'unknown error'
    subsystemLog(deps.log, 'delivery').warn({ reason }, 'mail not sent')
  })
}
