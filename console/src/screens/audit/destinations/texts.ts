import type { AuditDestination } from './queries.ts'

/** How the delivery goes. */
export function stateOf({ enabled, status }: Pick<AuditDestination, 'enabled' | 'status'>) {
  if (!enabled) return { label: 'disabled', color: 'gray' }
  return status.failures > 0 ? { label: 'failing', color: 'red' } : { label: 'active', color: 'teal' }
}

/** Where entries are sent, and how they are protected. */
export function describeAddress({ type, config, is_signed }: AuditDestination): string {
  if (type === 'webhook') return `Webhook ${config.url}, ${is_signed ? 'signed' : 'not signed'}`
  const host = String(config.host)
  const name = host.includes(':') ? `[${host}]` : host
  return `Syslog ${name}:${config.port}, ${config.tls === false ? 'without TLS' : 'over TLS'}`
}

/** Which entries are sent. */
export function describeSelection({ action_prefixes, chain }: AuditDestination): string {
  const actions = action_prefixes ? `Actions that begin with ${action_prefixes.join(', ')}` : 'Every action'
  return `${actions} of the ${chain}`
}
