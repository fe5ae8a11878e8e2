import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EgressOptions } from '../platform/http/egress-client.ts'
import { openEgressProxy } from './egress-proxy.ts'
import type { NetworkPolicy } from './environment.ts'

/** Runs the work with a proxy for the allowed domains, or with no way out at all. */
export async function withNetwork<T>(
  policy: NetworkPolicy,
  egress: EgressOptions,
  work: (proxySocket: string | null) => Promise<T>,
): Promise<T> {
  if (policy.type === 'disabled') return work(null)
  // Short: the path of a unix socket has at most 107 bytes.
  const folder = await mkdtemp(join(tmpdir(), 'headgate-proxy-'))
  try {
    const path = join(folder, 'proxy.sock')
    const proxy = await openEgressProxy(path, { domains: policy.allowed_domains, egress })
    try {
      return await work(path)
    } finally {
      proxy.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
