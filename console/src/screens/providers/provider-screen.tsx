import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Fact } from '../../components/fact.tsx'
import { HealthBadge, LastError, ProblemList } from '../../components/health-state.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { UptimeStrip } from '../../components/uptime-strip.tsx'
import { formatCount } from '../../format/number.ts'
import { ByokPanel } from './byok-panel.tsx'
import { EndpointTable } from './endpoint-table.tsx'
import { InstallationPanel } from './installation-panel.tsx'
import { ProviderFacts } from './provider-facts.tsx'
import {
  byokHealthOptions,
  byokOptions,
  endpointsOptions,
  errorsOptions,
  healthOptions,
  type ProviderHealth,
  spendOf,
  spendOptions,
} from './queries.ts'
import { RecentErrors } from './recent-errors.tsx'

export const screen = createLazyRoute('/providers/$slug')({ component: ProviderScreen })

const providersOptions = api.queryOptions('get', '/providers')

function ProviderScreen() {
  const { slug } = screen.useParams()
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const [spend] = useState(spendOptions)
  const [openedAt] = useState(Date.now)
  const errors = errorsOptions(slug, openedAt)
  const seesRequests = mayDo(session, 'generations:read')
  const seesSpend = mayDo(session, 'activity:read')
  const seesKeys = mayDo(session, 'byok:read')
  const seesCatalog = mayDoEverywhere(session, 'catalogue:read')
  const health = useQuery(healthOptions)
  const facts = useQuery(providersOptions)
  const spent = useQuery({ ...spend, enabled: seesSpend })
  const summary = health.data?.data.find(({ provider }) => provider === slug)
  const calls = [
    providersOptions,
    healthOptions,
    endpointsOptions(slug, 0),
    ...(seesKeys ? [byokOptions(workspaceId, slug), byokHealthOptions(workspaceId, slug)] : []),
    ...(seesCatalog
      ? [api.queryOptions('get', '/catalogue/providers/{slug}', { params: { path: { slug } } })]
      : []),
    ...(seesSpend ? [spend] : []),
    ...(seesRequests ? [errors] : []),
  ]
  return (
    <Page
      title={summary?.provider_name ?? slug}
      docs="byok"
      scope="listed"
      calls={calls.map(callOf)}
      actions={
        <>
          <Button component={Link} to="/providers" variant="default" size="xs">
            All providers
          </Button>
          <Button
            renderRoot={(props) => <Link to="/models" search={{ provider: slug }} {...props} />}
            variant="default"
            size="xs"
          >
            Its models
          </Button>
        </>
      }
    >
      <QueryView query={health}>
        {() =>
          summary ? (
            <Stack>
              <HealthPanel health={summary} spend={spent.data && spendOf(spent.data.data.data, summary)} />
              {seesRequests && <RecentErrors provider={slug} options={errors} />}
              {seesKeys && !summary.is_keyless && <ByokPanel provider={slug} name={summary.provider_name} />}
              {seesCatalog && <InstallationPanel slug={slug} />}
              <EndpointTable provider={slug} />
              <ProviderFacts provider={facts.data?.data.find((provider) => provider.slug === slug)} />
            </Stack>
          ) : (
            <EmptyState title="No such provider">The catalog has no provider {slug}.</EmptyState>
          )
        }
      </QueryView>
    </Page>
  )
}

function HealthPanel({ health, spend }: { health: ProviderHealth; spend: number | undefined }) {
  const { state, hours, provider_name: name, uptime_last_1d: uptime, requests_last_30m: requests } = health
  return (
    <Panel
      title="Health"
      description="Measured with the server credential."
      actions={<HealthBadge state={state} />}
    >
      <Group gap="xl">
        {hours.length > 0 && (
          <Fact label="Last 24 hours">
            <UptimeStrip name={name} hours={hours} />
          </Fact>
        )}
        <Fact label="Success rate">{uptime === null ? '–' : `${uptime}%`}</Fact>
        {requests !== null && <Fact label="Replies, 30 minutes">{formatCount(requests)}</Fact>}
        {spend !== undefined && (
          <Fact label="Spend, 30 days">
            <Money value={spend} />
          </Fact>
        )}
      </Group>
      {health.problem_count > 0 ? (
        <ProblemList problems={health.problems} count={health.problem_count} />
      ) : (
        health.last_error && (
          <Text size="sm" c="dimmed" component="div">
            <LastError error={health.last_error} />
          </Text>
        )
      )}
    </Panel>
  )
}
