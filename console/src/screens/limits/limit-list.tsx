import { Anchor, Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { mayDoEverywhere, mayDoIn, type Session, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { useKeyNames } from '../../components/use-record-names.ts'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { Declared } from './declared.tsx'
import { LimitActions } from './limit-actions.tsx'
import {
  describeAmount,
  describeCounter,
  describeMatch,
  describePer,
  formatAmount,
  type Limit,
} from './limit-words.ts'
import { limitsOptions, pageSize, usageOptions } from './queries.ts'

interface LimitListProps {
  offset: number
  onPage: (offset: number) => void
}

export function LimitList({ offset, onPage }: LimitListProps) {
  const query = useQuery({ ...limitsOptions(offset), placeholderData: keepPreviousData })
  return (
    <PagedList
      query={query}
      offset={offset}
      size={pageSize}
      onPage={onPage}
      empty={
        <EmptyState title={offset > 0 ? 'No further limits' : 'No limits yet'}>
          A limit rejects requests beyond an amount, such as 60 requests a minute for each key. The spending
          limits of keys, members and guardrails and the budgets of workspaces are listed here, too.
        </EmptyState>
      }
    >
      {(limits) => <LimitTable limits={limits} offset={offset} />}
    </PagedList>
  )
}

function LimitTable({ limits, offset }: { limits: Limit[]; offset: number }) {
  const session = useSession()
  const usage = useQuery(usageOptions(offset)).data?.data ?? []
  const usageById = new Map(usage.map((entry) => [entry.id, entry]))
  const workspaceOf = useWorkspaceNames(limits.map(({ match }) => match.workspace_id))
  const keyOf = useKeyNames(limits.flatMap(({ match }) => match.key_hash ?? []))
  const memberOf = useMemberNames(limits.map(({ match }) => match.user_id))
  return (
    <DataTable
      rows={limits}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        { header: 'Name', breaksWords: true, maxWidth: 220, render: (limit) => <Declared record={limit} /> },
        {
          header: 'Requests',
          breaksWords: true,
          maxWidth: 320,
          visibleFrom: 'sm',
          render: (limit) => (
            <Counted
              limit={limit}
              keyOf={keyOf}
              parts={describeMatch(limit.match, { workspaceOf, memberOf })}
            />
          ),
        },
        { header: 'Limit', render: describeAmount },
        { header: 'Used now', visibleFrom: 'xs', render: ({ id }) => <Used usage={usageById.get(id)} /> },
        {
          header: 'State',
          visibleFrom: 'xs',
          render: ({ enabled }) => (
            <Badge color={enabled ? 'teal' : 'gray'} variant="light" tt="none" miw="max-content">
              {enabled ? 'enabled' : 'disabled'}
            </Badge>
          ),
        },
        limits.some((limit) => mayChange(session, limit)) && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (limit) => mayChange(session, limit) && <LimitActions limit={limit} />,
        },
      ]}
    />
  )
}

function mayChange(session: Session, { source, match: { workspace_id } }: Limit): boolean {
  if (source === 'settings') return false
  const permissions = ['budgets:write', ownPermissions[source]] as const
  return permissions.every((permission) =>
    workspace_id === null ? mayDoEverywhere(session, permission) : mayDoIn(session, workspace_id, permission),
  )
}

/** What changing the limit of a record requires, besides the permission to change limits. */
const ownPermissions = {
  limit: 'budgets:write',
  key: 'keys:write',
  member: 'members:write',
  workspace: 'budgets:write',
  guardrail: 'guardrails:write',
} as const satisfies Record<Exclude<Limit['source'], 'settings'>, string>

interface CountedProps {
  limit: Limit
  keyOf: (hash: string) => string
  parts: string[]
}

function Counted({ limit: { match, per }, keyOf, parts }: CountedProps) {
  const { key_hash } = match
  const separately = describePer(per)
  return (
    <>
      <Text size="sm">
        {key_hash === null && parts.length === 0 && 'All requests'}
        {key_hash !== null && (
          <Anchor component={Link} to={`/keys/${key_hash}`} underline="always">
            key {keyOf(key_hash)}
          </Anchor>
        )}
        {key_hash !== null && parts.length > 0 && ' · '}
        {parts.join(' · ')}
      </Text>
      {separately && (
        <Text size="xs" c="dimmed">
          {separately}
        </Text>
      )}
    </>
  )
}

/** The count that is closest to the limit. */
function Used({ usage }: { usage: Schemas['LimitUsage'] | undefined }) {
  if (!usage || usage.measure === 'concurrent_requests') return '–'
  const { measure, amount, counts } = usage
  const [closest] = counts
  const counter = describeCounter(closest?.counter ?? {})
  return (
    <UsageBar used={closest?.used ?? 0} limit={amount} format={(value) => formatAmount(measure, value)}>
      {counter !== '' && (
        <Text span inherit c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          , {counter}
        </Text>
      )}
    </UsageBar>
  )
}
