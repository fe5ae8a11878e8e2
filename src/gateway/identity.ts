import type { Cluster } from '../cluster/cluster.ts'
import { AccessTokens } from '../identity/access-tokens.ts'
import { JwksCache } from '../identity/oidc/jwks-cache.ts'
import { OidcProviders } from '../identity/oidc/providers.ts'
import { SignInLimiter } from '../identity/sign-in-limiter.ts'
import { BoundedQueue } from '../platform/concurrency/bounded-queue.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import { createRevisionReader } from '../platform/db/account-revision.ts'
import type { Db } from '../platform/db/db.ts'
import { resolveTxt } from '../platform/http/dns-txt.ts'
import type { Clock } from '../platform/time/clock.ts'
import { AccountCache } from './account-cache.ts'
import type { Gateway } from './gateway.ts'
import type { Settings } from './settings.ts'
import { shareRevisions } from './shared-changes.ts'

/** Passwords that are verified at the same time, each with 19 MiB, and those that wait. */
const maxPasswordTasks = 4
const maxPasswordsWaiting = 200

interface IdentityOptions {
  db: Db
  clock: Clock
  vault: Vault
  cluster: Cluster
  settings: () => Settings
}

/** Account data, and what people and workloads sign in with. */
export function createIdentity({ db, clock, vault, cluster, settings }: IdentityOptions) {
  const revisions = createRevisionReader(db)
  if (cluster.status.kind !== 'memory') shareRevisions(db, cluster, revisions)
  const egress = () => ({ allowPrivate: settings().egress.allow_private })
  const jwks = new JwksCache(clock, egress)
  return {
    accounts: new AccountCache(db, revisions),
    identity: {
      accessTokens: new AccessTokens({ db, clock, vault, revisions }),
      jwks,
      oidcProviders: new OidcProviders(clock, egress, jwks),
      resolveTxt,
      signInLimiter: new SignInLimiter(cluster),
      passwordQueue: new BoundedQueue(maxPasswordTasks, maxPasswordsWaiting),
    },
  } satisfies Partial<Gateway>
}
