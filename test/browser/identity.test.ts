import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium, siteOf } from '../support/chromium.ts'
import { describeOnSqlite, type Tenant } from '../support/harness.ts'
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts'
import { buildPatchBody, connectIdentityProvider, type IdentityProvider } from '../support/scim.ts'
import { connectProvider } from '../support/sso.ts'
import {
  allowIssuer,
  buildClaims,
  buildExchange,
  startTokenIssuer,
  type TokenIssuer,
  tokenAudience,
} from '../support/token-issuer.ts'
import { Person } from './person.ts'

const noSuchWorkspace = 'x-headgate-workspace: the caller cannot access that workspace.'

/** A member of a directory: their id there, their id here, their address. */
type DirectoryUser = Awaited<ReturnType<IdentityProvider['createUser']>>

describeInChromium('Identity', (chromium) => {
  describeOnSqlite('in a browser', (server) => {
    let acme: TestProvider
    let globex: TestProvider
    let issuer: TokenIssuer
    beforeAll(async () => {
      acme = await startOidcProvider(siteOf(server()))
      globex = await startOidcProvider(siteOf(server()))
      issuer = await startTokenIssuer()
      allowIssuer(server(), issuer)
    })
    afterAll(() => Promise.all([acme, globex, issuer].map((started) => started.stop())))

    const arrive = () => Person.arrive(server(), chromium())
    const vouch = (provider: TestProvider, account: string, groups: string[], email = account) =>
      provider.accounts.set(account, { email, email_verified: true, groups })

    /** Sets up Acme from a page, with the session of the owner. */
    const setUpAcme = async (owner: Person) => {
      const createWorkspace = async (slug: string): Promise<string> => {
        const { status, body } = await owner.change('POST', '/workspaces', { name: slug, slug })
        expect(status).toBe(201)
        return body.data.id
      }
      const [lab, research] = [await createWorkspace('lab'), await createWorkspace('research')]
      const forged = await owner.change('POST', '/workspaces', {}, { 'x-csrf-token': 'forged' })
      expect([forged.status, forged.body.error.message]).toEqual([
        403,
        expect.stringContaining('x-csrf-token'),
      ])
      const { connectionId } = await connectProvider(server(), acme, { connection: { name: 'Acme ID' } })
      const mappings = [
        { claim: 'groups', value: 'engineers', workspace_id: lab, role: 'developer' },
        { claim: 'groups', value: 'finance', workspace_id: null, role: 'billing' },
      ]
      const path = `/organization/sso/connections/${connectionId}`
      expect((await owner.change('PATCH', path, { mappings })).status).toBe(200)
      return { lab, research }
    }

    /** A developer of one workspace by her claims, a member of another by the directory. Returns a key of hers. */
    const admitAda = async (ada: Person, user: DirectoryUser, lab: string, research: string) => {
      vouch(acme, user.email, ['engineers'])
      await ada.signInWithProvider(user.email, 'Acme ID')
      const { data } = (await ada.read('/session')).body
      expect(data).toMatchObject({
        member: { id: user.member, email: user.email, role: 'org:member' },
        organization: { id: server().own.organization.id },
        roles: [{ id: 'developer', workspace_id: lab }],
        method: 'oidc',
      })
      const slugs = data.workspaces.map(({ slug }: { slug: string }) => slug).sort()
      expect(slugs).toEqual(['default', 'research'])
      for (const workspace of ['lab', 'research']) expect((await ada.chat(workspace)).status).toBe(200)
      await ada.expectStatus(200, '/guardrails', '/workspaces', '/keys')
      await ada.expectRefused({
        'GET /organization/members': 'members:read',
        'GET /audit': 'audit:read',
        'GET /credits': 'credits:read',
        'POST /workspaces': 'workspaces:write',
        'POST /scim/tokens': 'scim:write',
        [`DELETE /workspaces/${research}`]: 'workspaces:write',
      })
      const key = await ada.change('POST', '/keys', { name: 'mine', workspace_id: research })
      expect(key.status).toBe(201)
      return key.body.data.hash as string
    }

    /** Billing in the whole organization, by her claims. */
    const admitGrace = async (grace: Person, { email }: DirectoryUser) => {
      vouch(acme, email, ['finance'])
      await grace.signInWithProvider(email, 'Acme ID')
      await grace.expectStatus(200, '/credits', '/organization/members', '/keys')
      await grace.expectRefused({
        'GET /guardrails': 'guardrails:read',
        'GET /audit': 'audit:read',
        'POST /workspaces': 'workspaces:write',
      })
      const { status, body } = await grace.chat('research')
      expect([status, body.error?.metadata.permission]).toEqual([403, 'inference:write'])
    }

    /** Becomes a member and an auditor of the other organization when she signs in. */
    const admitEve = async (eve: Person) => {
      const { foreign } = server()
      await connectProvider(server(), globex, {
        tenant: foreign,
        domain: 'globex.test',
        connection: { name: 'Globex ID', jit: true, default_role: 'auditor' },
      })
      vouch(globex, 'eve@globex.test', [])
      await eve.signInWithProvider('eve@globex.test', 'Globex ID')
      expect((await eve.read('/session')).body.data).toMatchObject({
        organization: { id: foreign.organization.id },
        roles: [{ id: 'auditor', workspace_id: null }],
      })
      await eve.expectStatus(200, '/audit', '/organization/members', '/keys')
      await eve.expectRefused({
        'POST /workspaces': 'workspaces:write',
        'POST /organization/sso/connections': 'sso:write',
      })
    }

    /** The provider of one organization cannot vouch for a member of the other. */
    const refuseMallory = async (mallory: Person, victim: string) => {
      vouch(globex, 'mallory@globex.test', [], victim)
      await mallory.beginAtProvider('mallory@globex.test', 'Globex ID')
      await mallory.page.getByText('does not belong').waitFor()
      await mallory.expectStatus(401, '/session')
    }

    const expectSignedOut = async (person: Person) => {
      const cookies = await person.page.context().cookies(siteOf(server()))
      await person.signOut()
      await person.page.getByRole('button', { name: 'Yes, sign me out' }).click()
      await person.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await person.expectStatus(401, '/session')
      await person.page.context().addCookies(cookies)
      await person.expectStatus(401, '/session')
    }

    /** A job of a CI service that exchanges its token, and sends a request with what it gets. */
    const createJob = async (tenant: Tenant, subject: string) => {
      const create = async (path: string, body: unknown) => {
        const response = await server().call('POST', path, { key: tenant.managementKey, body })
        expect(response.status).toBe(201)
        return response.body.data
      }
      const { id: issuer_id } = await create('/workload-identity/issuers', { name: 'CI', issuer: issuer.url })
      const { hash: key_hash } = await create('/keys', { name: 'deploy' })
      const policy = { name: 'Deploy', issuer_id, audience: tokenAudience, subject, key_hash }
      const { id: policyId } = await create('/workload-identity/policies', policy)
      const exchange = async (usedPolicyId = policyId) => {
        const token = await issuer.sign({ ...buildClaims(server(), issuer), sub: subject })
        const body = new URLSearchParams(buildExchange(usedPolicyId, token))
        return server().call('POST', '/oauth/token', { key: null, body })
      }
      const token = (await exchange()).body.access_token as string
      const reply = await server().call('POST', '/chat/completions', {
        key: token,
        body: { model: 'sandbox/echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] },
      })
      expect(reply.status).toBe(200)
      return { policyId, exchange, token, generation: reply.body.id as string }
    }

    const runJobs = async (owner: Person, eve: Person) => {
      const { own, foreign, gateway } = server()
      const ours = await createJob(own, 'repo:acme/app:ref:refs/heads/main')
      const theirs = await createJob(foreign, 'repo:globex/app:ref:refs/heads/main')
      await gateway.ledger.flush()
      for (const [job, other] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        const crossed = await job.exchange(other.policyId)
        expect([crossed.status, crossed.body.error]).toEqual([400, 'invalid_grant'])
        const read = (id: string) => server().call('GET', `/generation?id=${id}`, { key: job.token })
        expect((await read(job.generation)).status).toBe(200)
        expect((await read(other.generation)).status).toBe(404)
      }
      await owner.expectStatus(200, `/generation?id=${ours.generation}`)
      await owner.expectStatus(404, `/generation?id=${theirs.generation}`)
      await eve.expectStatus(200, `/generation?id=${theirs.generation}`)
      await eve.expectStatus(404, `/generation?id=${ours.generation}`)
    }

    test('R37 members and jobs of two organizations enter, act within their roles, and leave', async () => {
      const { own, foreign } = server()
      const owner = await arrive()
      await owner.signInWithLink(own.owner.id)
      const { lab, research } = await setUpAcme(owner)

      const directory = await connectIdentityProvider(server())
      const [adaUser, graceUser] = [await directory.createUser('ada'), await directory.createUser('grace')]
      const group = await directory.createGroup('Research', [adaUser.id])
      const mapping = { scim_group_id: group, workspace_id: research, role: 'member' }
      expect((await owner.change('POST', '/scim/group-mappings', mapping)).status).toBe(201)

      const [ada, grace, eve] = [await arrive(), await arrive(), await arrive()]
      const keyHash = await admitAda(ada, adaUser, lab, research)
      await admitGrace(grace, graceUser)
      await admitEve(eve)

      // Neither organization sees anything of the other.
      await eve.expectStatus(404, `/workspaces/${research}`, `/keys/${keyHash}`)
      await owner.expectStatus(404, `/workspaces/${foreign.workspace.id}`)
      for (const path of ['/audit', '/organization/members', '/keys']) {
        const text = JSON.stringify((await eve.read(path)).body)
        const ofAcme = [adaUser.member, adaUser.email, own.organization.id, keyHash]
        expect([path, ofAcme.filter((name) => text.includes(name))]).toEqual([path, []])
      }
      const log = JSON.stringify((await owner.read('/audit?limit=1000')).body)
      expect(log.includes('globex.test')).toBe(false)
      await refuseMallory(await arrive(), adaUser.email)
      for (const [person, workspace] of [
        [eve, research],
        [ada, foreign.workspace.id],
        [ada, 'unknown'],
      ] as const) {
        const { status, body } = await person.chat(workspace)
        expect([status, body.error.message]).toEqual([403, noSuchWorkspace])
      }

      // The owner of the organization that operates the server grants credits; the owner of the other one cannot.
      const grant = { organization_id: foreign.organization.id, amount: 10 }
      expect((await owner.change('POST', '/credits/grants', grant)).status).toBe(201)
      const otherOwner = await arrive()
      await otherOwner.signInWithLink(foreign.owner.id)
      await otherOwner.expectRefused({ 'POST /credits/grants': 'credits:write' })
      await runJobs(owner, eve)

      // Ada adds a passkey, signs out here and at the provider, and comes back with the passkey.
      await ada.registerPasskey()
      await expectSignedOut(ada)
      await ada.signInWithPasskey()
      const session = (await ada.read('/session')).body.data
      expect(session).toMatchObject({ member: { id: adaUser.member }, method: 'passkey' })

      // The directory takes a workspace from her: her open session follows at once.
      expect((await ada.chat('research')).status).toBe(200)
      const leave = buildPatchBody({ op: 'remove', path: `members[value eq "${adaUser.id}"]` })
      expect((await directory.send('PATCH', `/Groups/${group}`, leave)).status).toBeLessThan(300)
      const moved = await ada.chat('research')
      expect([moved.status, moved.body.error?.metadata.permission]).toEqual([403, 'inference:write'])
      expect((await ada.chat('lab')).status).toBe(200)

      // Then it deactivates her: the session ends, and neither the passkey nor the provider lets her in.
      const deactivate = buildPatchBody({ op: 'replace', path: 'active', value: false })
      expect((await directory.send('PATCH', `/Users/${adaUser.id}`, deactivate)).status).toBeLessThan(300)
      await ada.expectStatus(401, '/session')
      await ada.clickPasskey()
      await ada.page.getByText('The passkey was not accepted.').waitFor()
      await ada.beginAtProvider(adaUser.email, 'Acme ID')
      await ada.page.getByText('deactivated').waitFor()
      await ada.expectStatus(401, '/session')
      await grace.expectStatus(200, '/session')

      const { data } = (await owner.read('/audit?limit=1000')).body
      const entries = data.map(
        (entry: { action: string; outcome: string }) => `${entry.action} ${entry.outcome}`,
      )
      for (const action of ['workspace.create', 'session.create', 'session.delete', 'passkey.create'])
        expect(entries).toContain(`${action} success`)
      for (const action of ['session.create', 'workload_token.issue'])
        expect(entries).toContain(`${action} refused`)
      expect(await chromium().takeProblems()).toEqual([])
    }, 240_000)
  })
})
