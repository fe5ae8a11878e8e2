import { Alert, Badge, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { BlockEndUser } from '../../components/block-end-user.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Figure } from '../../components/figure.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCompact, formatCount } from '../../format/number.ts'
import { ErasePanel } from './erase-panel.tsx'
import { LatestRequests } from './latest-requests.tsx'
import { LimitPanel } from './limit-panel.tsx'
import { SpendPanel } from './spend-panel.tsx'

export const screen = createLazyRoute('/end-users/$id')({ component: EndUserScreen })

function EndUserScreen() {
  const { id } = screen.useParams()
  const session = useSession()
  const options = api.queryOptions('get', '/end-users/{id}', { params: { path: { id } } }, { retry: false })
  const mayRead = mayDoEverywhere(session, 'activity:read')
  const query = useQuery({ ...options, enabled: mayRead })
  const isUnknown = query.error instanceof ApiError && query.error.status === 404
  const mayBlock = mayDoEverywhere(session, 'budgets:write')
  return (
    <Page
      title={id}
      docs="end-users"
      description="An end user of your applications: spending, limits, and the latest requests."
      calls={[callOf(options)]}
      actions={
        (query.data || isUnknown) &&
        mayBlock && <BlockAction id={id} isBlocked={query.data?.data.blocked ?? false} />
      }
    >
      <TextLink to="/end-users">All end users</TextLink>
      {isUnknown ? (
        <EmptyState title="No requests in the last 30 days">
          Older requests are in the request log. You can still block or erase the end user.
        </EmptyState>
      ) : (
        <QueryView query={query}>{({ data }) => <Usage endUser={data} />}</QueryView>
      )}
      {query.data && <SpendPanel name={id} />}
      {mayDoEverywhere(session, 'budgets:read') && <LimitPanel name={id} />}
      {mayDoEverywhere(session, 'generations:read') && <LatestRequests name={id} />}
      {mayDoEverywhere(session, 'privacy:write') && <ErasePanel name={id} />}
    </Page>
  )
}

function BlockAction({ id, isBlocked }: { id: string; isBlocked: boolean }) {
  const refresh = useRefresh()
  const unblock = async () => {
    await client.PATCH('/end-users/{id}', { params: { path: { id } }, body: { blocked: false } })
    await refresh('/end-users/{id}', '/end-users')
  }
  return isBlocked ? <ActionButton onAction={unblock}>Unblock</ActionButton> : <BlockEndUser name={id} />
}

function Usage({ endUser }: { endUser: Schemas['EndUser'] }) {
  const { usage, byok_usage, requests, tokens, first_seen, last_seen, blocked } = endUser
  return (
    <Stack gap="sm">
      {blocked && (
        <Alert color="red" title="Blocked">
          Requests that name this end user are rejected, since <Time iso={endUser.blocked_at} />.
          {endUser.block_reason !== null && ` Reason: ${endUser.block_reason}`}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label="Spend, 30 days">
          <Money value={usage} />
        </Figure>
        <Figure label="Requests">{formatCount(requests)}</Figure>
        <Figure label="Tokens">{formatCompact(tokens)}</Figure>
        <Figure label="Last seen">{last_seen?.slice(0, 10) ?? '–'}</Figure>
      </SimpleGrid>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          First seen {first_seen?.slice(0, 10) ?? 'before'}
        </Text>
        {byok_usage > 0 && (
          <Badge variant="light" tt="none">
            <Money value={byok_usage} /> with BYOK keys
          </Badge>
        )}
      </Group>
    </Stack>
  )
}
