import type { AuditDestination } from './queries.ts'

/** The state of the delivery. */
export function stateOf({ enabled, status }: Pick<AuditDestination, 'enabled' | 'status'>) {
  if (!enabled) return { label: 'disabled', color: 'gray' }
  return status.failures > 0 ? { label: 'failing', color: 'red' } : { label: 'active', color: 'teal' }
}

/** Describes the address that entries are sent to, and their protection. */
export function describeAddress({ type, config, is_signed }: AuditDestination): string {
  if (type === 'webhook') return `Webhook ${config.url}, ${is_signed ? 'signed' : 'not signed'}`
  const host = String(config.host)
  const name = host.includes(':') ? `[${host}]` : host
  return `Syslog ${name}:${config.port}, ${config.tls === false ? 'without TLS' : 'over TLS'}`
}

/** Describes the selection of entries that are sent. */
export function describeSelection({ action_prefixes, chain }: AuditDestination): string {
  const actions = action_prefixes ? `Actions that begin with ${action_prefixes.join(', ')}` : 'Every action'
  return `${actions} of the ${chain}`
}
