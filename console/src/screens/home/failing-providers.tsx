import { Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { HealthBadge, LastError } from '../../components/health-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { healthQuery } from './queries.ts'

type Health = Schemas['ProviderHealth']

const maxShown = 5

/** The providers that fail or are left out now. */
export function FailingProviders() {
  const query = useQuery(healthQuery)
  return (
    <Panel
      title="Failing providers"
      actions={
        <TextLink to="/providers" size="sm" aria-label="All providers">
          All
        </TextLink>
      }
    >
      {query.isPending ? (
        <Skeleton height={44} aria-label="Loading" />
      ) : (
        <QueryView query={query}>{({ data }) => <Failing providers={data} />}</QueryView>
      )}
    </Panel>
  )
}

function Failing({ providers }: { providers: Health[] }) {
  const failing = providers.filter(({ state }) => state === 'degraded' || state === 'unavailable')
  if (failing.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        All providers are working.
      </Text>
    )
  }
  return (
    <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
      {failing.slice(0, maxShown).map((provider) => (
        <FailingProvider key={provider.provider} {...provider} />
      ))}
      {failing.length > maxShown && (
        <li>
          <TextLink to="/providers" size="sm">
            {failing.length - maxShown} more
          </TextLink>
        </li>
      )}
    </Stack>
  )
}

function FailingProvider({
  provider,
  provider_name,
  state,
  last_error,
  problem_count,
  used_endpoints,
}: Health) {
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <TextLink to="/providers/$slug" params={{ slug: provider }} size="sm" truncate>
          {provider_name}
        </TextLink>
        <HealthBadge state={state} />
      </Group>
      <Text size="xs" c="dimmed" lineClamp={2} component="div" style={{ overflowWrap: 'anywhere' }}>
        {problem_count} of {used_endpoints} endpoints. {last_error && <LastError error={last_error} />}
      </Text>
    </li>
  )
}
