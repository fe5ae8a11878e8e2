import { Anchor, Stack, Tabs } from '@mantine/core'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { type Call, callOf } from '../../api/call.ts'
import { useSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { groupsOptions, mappingsOptions, recentOptions, tokensOptions } from './scim/queries.ts'
import { Scim } from './scim/scim.tsx'
import { connectionsOptions, domainsOptions, identitiesOptions, policyOptions } from './sso/queries.ts'
import { Sso } from './sso/sso.tsx'
import { type Tab, visibleTabs } from './tabs.ts'
import { issuersOptions, policiesOptions } from './workload/queries.ts'
import { Workload } from './workload/workload.tsx'

export const screen = createLazyRoute('/identity')({ component: IdentityScreen })

const panels = { sso: Sso, scim: Scim, workload: Workload }

const calls: Record<Tab, Call[]> = {
  sso: [policyOptions, connectionsOptions, domainsOptions, identitiesOptions(0)].map(callOf),
  scim: [tokensOptions, groupsOptions(0), mappingsOptions(0), recentOptions].map(callOf),
  workload: [issuersOptions, policiesOptions].map(callOf),
}

function IdentityScreen() {
  const tabs = visibleTabs(useSession())
  const { tab: chosen } = screen.useSearch()
  const navigate = screen.useNavigate()
  const tab = tabs.find(({ value }) => value === chosen)?.value ?? tabs[0]?.value
  const Panel = tab ? panels[tab] : null
  return (
    <Page
      title="Identity"
      docs="sso"
      description={
        <>
          How people and workloads sign in. To see the sessions of a person, open them in{' '}
          <Anchor component={Link} to="/members" underline="always">
            Members
          </Anchor>
          .
        </>
      }
      calls={tab ? calls[tab] : []}
    >
      {tab && Panel ? (
        <Tabs value={tab} onChange={(value) => void navigate({ search: { tab: value as Tab } })}>
          <Tabs.List aria-label="Parts of identity">
            {tabs.map(({ value, label }) => (
              <Tabs.Tab key={value} value={value}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {tabs.map(({ value }) => (
            <Tabs.Panel key={value} value={value} pt="md">
              {value === tab && (
                <Stack>
                  <Panel />
                </Stack>
              )}
            </Tabs.Panel>
          ))}
        </Tabs>
      ) : (
        <EmptyState title="Nothing to show">
          Your role has none of the permissions sso:read, scim:read and workload_identity:read. Ask an admin.
        </EmptyState>
      )}
    </Page>
  )
}
