// Millions of generations, distributed as in production: one organization has half, and each key uses few models and apps.
import { sql } from 'kysely'
import { createKey } from '../src/identity/keys.ts'
import { createMember } from '../src/identity/members.ts'
import { createWorkspace } from '../src/identity/workspaces.ts'
import { createSeedKeys, insertGenerations, type SeedKey } from '../test/support/generation-rows.ts'
import { createTenant, type Tenant, type TestServer } from '../test/support/harness.ts'

const organizations = 50
const keysOfLargest = 1000
const keysOfOthers = 1000
const dayMs = 86_400_000
/** Days of records: more than thirty whole ones. */
const days = 30.9
/** Half of them in the first organization; in each, few keys send most requests. */
const keyNumber = sql<number>`case when u < 500 then v * v / 1000 * w / 1000
  else ${sql.lit(keysOfLargest)} + v * v / 1000 * (1000 + w) / 2000 end`

interface SeedResult {
  small: Tenant
  /** The key hashes of the largest organization. */
  hashes: string[]
  /** Adds generations up to the current time. */
  addLatest: (count: number) => Promise<void>
}

export async function seedRecords(server: TestServer, rows: number): Promise<SeedResult> {
  const { keys, hashes, small } = await seedKeys(server)
  const { db } = server.gateway
  await createSeedKeys(db, keys)
  const end = Date.now() - 60_000
  const time = { start: end - days * dayMs, perRow: (days * dayMs) / rows }
  await insertGenerations(db, { from: 0, to: rows, ...time, key: keyNumber })
  const addLatest = (count: number) =>
    insertGenerations(db, {
      from: rows,
      to: rows + count,
      start: Date.now() - rows,
      perRow: 1,
      key: keyNumber,
    })
  return { small, hashes, addLatest }
}

async function seedKeys(server: TestServer) {
  const { gateway } = server
  const others: Tenant[] = []
  for (let i = 1; i < organizations; i++) others.push(await createTenant(gateway, `Organization ${i}`))
  const keys: SeedKey[] = []
  const hashes: string[] = []
  const add = async (tenant: Tenant, count: number) => {
    const { workspaces, users } = await createWorkspacesAndUsers(server, tenant, count)
    for (let i = 0; i < count; i++) {
      const workspace_id = workspaces[i % workspaces.length] ?? ''
      const user_id = users[i % users.length] ?? ''
      const organization_id = tenant.organization.id
      const { key } = await createKey(gateway.db, gateway.clock, {
        organizationId: organization_id,
        workspaceId: workspace_id,
        kind: 'inference',
        name: `key ${i}`,
        creatorUserId: user_id,
      })
      if (tenant === server.own) hashes.push(key.hash)
      keys.push({ n: keys.length, id: key.id, organization_id, workspace_id, user_id })
    }
  }
  await add(server.own, keysOfLargest)
  for (const [index, tenant] of others.entries()) {
    await add(tenant, Math.ceil(keysOfOthers / others.length) + (index % 2))
  }
  const [small] = others
  if (!small) throw new Error('there are no other organizations')
  return { keys, hashes, small }
}

async function createWorkspacesAndUsers({ gateway }: TestServer, tenant: Tenant, count: number) {
  const organizationId = tenant.organization.id
  const [workspaces, users] = [[tenant.workspace.id], [tenant.owner.id]]
  for (let i = 1; i < Math.min(5, count / 5); i++) {
    const owner = { organizationId, createdBy: tenant.owner.id }
    const workspace = await createWorkspace(gateway.db, gateway.clock, owner, {
      name: `W ${i}`,
      slug: `w-${i}`,
    })
    workspaces.push(workspace.id)
  }
  for (let i = 1; i < count / 5; i++) {
    const email = `u${i}-${organizationId}@example.com`
    users.push(
      (await createMember(gateway.db, gateway.clock, { organizationId, email, role: 'org:member' })).id,
    )
  }
  return { workspaces, users }
}
