import type { Gateway } from '../gateway/gateway.ts'
import type { AuditEntry } from '../governance/audit/entry.ts'
import { toOcsfEvent } from '../governance/audit/ocsf.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import { EgressError, sendBuffered } from '../platform/http/egress-client.ts'
import { parseRetryAfter } from '../platform/http/retry-after.ts'
import { type SyslogServer, sendSyslog } from '../platform/http/syslog.ts'
import { version } from '../platform/version.ts'
import type { AuditDestination } from './audit-destinations.ts'
import { signWebhook } from './destinations/standard-webhooks.ts'

export interface WebhookSecrets {
  signing_secret?: string | undefined
}

/** The number of entries that were accepted, from the first one, and the error after them. */
export interface AuditSendOutcome {
  accepted: number
  error: string | null
  /** The destination accepts no more entries. */
  isGone?: boolean
  retryAfterMs?: number | undefined
}

/** Requests at the same time: a message has one event, whose id receivers recognize. */
const parallelRequests = 8
const maxResponseBytes = 64 * 1024

const secretContext = (id: string) => `audit-destination/${id}`

export function encryptAuditSecrets(vault: Vault, id: string, secrets: WebhookSecrets): string {
  return vault.encrypt(JSON.stringify(secrets), secretContext(id))
}

export function openAuditSecrets(vault: Vault, { id, sealed_secrets }: AuditDestination): WebhookSecrets {
  return JSON.parse(vault.decrypt(sealed_secrets, secretContext(id)))
}

/** Sends entries in their order. Never throws for what the destination does. */
export async function sendAuditEntries(
  gateway: Gateway,
  destination: AuditDestination,
  entries: readonly AuditEntry[],
): Promise<AuditSendOutcome> {
  if (entries.length === 0) return { accepted: 0, error: null }
  try {
    if (destination.type === 'webhook') return await sendWebhooks(gateway, destination, entries)
    return await sendMessages(gateway, destination, entries)
  } catch (error) {
    if (error instanceof EgressError) return { accepted: 0, error: error.message }
    throw error
  }
}

async function sendMessages(
  { settings }: Gateway,
  { config }: AuditDestination,
  entries: readonly AuditEntry[],
): Promise<AuditSendOutcome> {
  const server: SyslogServer = JSON.parse(config)
  const messages = entries.map((entry) => ({
    time: entry.created_at,
    severity: entry.outcome === 'success' ? 6 : 4,
    id: entry.action,
    text: JSON.stringify(toOcsfEvent(entry)),
  }))
  const timeoutMs = settings.observability.timeout
  await sendSyslog(server, messages, { allowPrivate: settings.egress.allow_private, timeoutMs })
  return { accepted: entries.length, error: null }
}

async function sendWebhooks(
  gateway: Gateway,
  destination: AuditDestination,
  entries: readonly AuditEntry[],
): Promise<AuditSendOutcome> {
  const { signing_secret } = openAuditSecrets(gateway.vault, destination)
  if (signing_secret !== undefined) gateway.audit.secretUses.add('audit_destination', destination.id)
  const { url }: { url: string } = JSON.parse(destination.config)
  let accepted = 0
  while (accepted < entries.length) {
    const batch = entries.slice(accepted, accepted + parallelRequests)
    const outcomes = await Promise.all(batch.map((entry) => sendWebhook(gateway, url, signing_secret, entry)))
    const failed = outcomes.findIndex(({ error }) => error !== null)
    const failure = outcomes[failed]
    if (failure) return { ...failure, accepted: accepted + failed }
    accepted += batch.length
  }
  return { accepted, error: null }
}

async function sendWebhook(
  { settings, clock }: Gateway,
  url: string,
  secret: string | undefined,
  entry: AuditEntry,
): Promise<AuditSendOutcome> {
  const body = JSON.stringify(toOcsfEvent(entry))
  const message = { id: entry.id, sentAt: clock.now(), body: new TextEncoder().encode(body) }
  const headers = {
    'content-type': 'application/json',
    'user-agent': `headgate/${version}`,
    ...(secret === undefined ? { 'webhook-id': entry.id } : signWebhook(secret, message)),
  }
  try {
    const response = await sendBuffered(
      { url, method: 'POST', headers, body },
      {
        allowPrivate: settings.egress.allow_private,
        timeoutMs: settings.observability.timeout,
        maxBytes: maxResponseBytes,
      },
    )
    const { status } = response
    if (status >= 200 && status < 300) return { accepted: 1, error: null }
    const error = `The destination returned status ${status}.`
    return { accepted: 0, error, isGone: status === 410, retryAfterMs: parseRetryAfter(response.headers) }
  } catch (error) {
    if (error instanceof EgressError) return { accepted: 0, error: error.message }
    throw error
  }
}
