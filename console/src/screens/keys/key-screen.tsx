import { Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, mayDoIn, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { DailyUsage, dailyUsageOptions } from '../../components/daily-usage.tsx'
import { Fact } from '../../components/fact.tsx'
import { HistoryButton } from '../../components/history-button.tsx'
import { NodeSpending, spendingOptions } from '../../components/node-spending.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { KeyActions } from './key-actions.tsx'
import { KeyLimit, KeyStateBadge } from './key-columns.tsx'
import type { ApiKey } from './key-fields.ts'
import { KeyPolicyView, policyOptions } from './key-policy.tsx'

export const screen = createLazyRoute('/keys/$hash')({ component: KeyScreen })

function KeyScreen() {
  const { hash } = screen.useParams()
  const session = useSession()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/keys/{hash}', { params: { path: { hash } } })
  const query = useQuery(options)
  const key = query.data?.data
  const seesBudgets = mayDoIn(session, key?.workspace_id ?? '', 'budgets:read')
  const calls = [
    callOf(options),
    ...(key
      ? [policyOptions(hash), dailyUsageOptions({ field: 'api_key_id', value: hash })].map(callOf)
      : []),
    ...(key && seesBudgets ? [callOf(spendingOptions(`key:${hash}`))] : []),
  ]
  return (
    <Page
      title={key?.name ?? 'API key'}
      docs="billing#limits"
      calls={calls}
      actions={
        key && (
          <>
            <HistoryButton search={{ target_id: hash }} />
            {mayDo(session, 'keys:write') && (
              <KeyActions apiKey={key} onDelete={() => void navigate({ to: '/keys' })} />
            )}
          </>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) => (
          <Stack>
            <KeyFacts apiKey={data} />
            {seesBudgets && <NodeSpending nodeId={`key:${hash}`} title="Spending and limits" />}
            {mayDo(session, 'activity:read') && (
              <Panel title="Last 30 days">
                <DailyUsage field="api_key_id" value={data.hash} />
              </Panel>
            )}
            {mayDo(session, 'guardrails:read') && (
              <Panel title="Policy in force">
                <KeyPolicyView hash={data.hash} />
              </Panel>
            )}
          </Stack>
        )}
      </QueryView>
    </Page>
  )
}

function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  const nameOf = useMemberNames([apiKey.creator_user_id])
  const workspaceOf = useWorkspaceNames([apiKey.workspace_id])
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Fact label="State">
          <KeyStateBadge apiKey={apiKey} />
        </Fact>
        <Fact label="Spent">
          <KeyLimit apiKey={apiKey} />
        </Fact>
        <Fact label="Secret">
          <Text size="sm" ff="monospace">
            {apiKey.label}
          </Text>
        </Fact>
        <Fact label="Last used">{apiKey.last_used_at ? <Time iso={apiKey.last_used_at} /> : 'never'}</Fact>
        <Fact label="Expires">{apiKey.expires_at ? <Time iso={apiKey.expires_at} /> : 'never'}</Fact>
        <Fact label="Workspace">{workspaceOf(apiKey.workspace_id)}</Fact>
        <Fact label="Created by">{nameOf(apiKey.creator_user_id)}</Fact>
        <Fact label="Created">
          <Time iso={apiKey.created_at} />
        </Fact>
        <Fact label="Changed">
          <Time iso={apiKey.updated_at} />
        </Fact>
      </SimpleGrid>
      <Group gap="xs" pt="md">
        <Text size="sm" c="dimmed">
          Hash
        </Text>
        <Id value={apiKey.hash} label="Copy the hash" />
      </Group>
    </Paper>
  )
}
