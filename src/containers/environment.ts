import { z } from 'zod'
import { toAsciiHost } from '../platform/http/host-name.ts'

/** `example.com` is this name alone; `*.example.com` is every name below it, without it. */
const domain = z
  .string()
  .max(253)
  .overwrite(toAsciiHost)
  .regex(
    /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be a domain such as example.com or *.example.com, without scheme, port or path',
  )

const networkPolicy = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('disabled') }),
  z.strictObject({ type: z.literal('allowlist'), allowed_domains: z.array(domain).max(50) }),
])

const sharedFields = {
  file_ids: z.array(z.string().min(1).max(200)).max(20).optional(),
  network_policy: networkPolicy.optional(),
}

/** The environment of a server tool that runs commands: `environment` of `service:bash` and `service:shell`. */
export const containerEnvironment = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('container_auto'), ...sharedFields }),
  z.strictObject({
    type: z.literal('container_reference'),
    container_id: z.string().regex(/^[\w-]{1,40}$/, 'must have 1 to 40 letters, digits, "_" or "-"'),
    ...sharedFields,
  }),
])

export type ContainerEnvironment = z.output<typeof containerEnvironment>
export type NetworkPolicy = z.output<typeof networkPolicy>

/** The same text for the same policy, whatever the order of its domains. */
export function formatPolicy(policy: NetworkPolicy | undefined): string {
  if (policy?.type !== 'allowlist') return JSON.stringify({ type: 'disabled' })
  return JSON.stringify({ type: policy.type, allowed_domains: [...new Set(policy.allowed_domains)].sort() })
}

/** Whether a host name is one of the domains. An IP address never is. */
export function isAllowedDomain(host: string, domains: readonly string[]): boolean {
  const name = toAsciiHost(host).replace(/\.$/, '')
  return domains.some((entry) => (entry.startsWith('*.') ? name.endsWith(entry.slice(1)) : name === entry))
}
