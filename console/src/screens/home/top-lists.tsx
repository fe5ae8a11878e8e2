import { Group, Progress, SegmentedControl, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatMoney } from '../../format/money.ts'
import { formatCompact, formatCount } from '../../format/number.ts'
import { type Row, type Selection, topCount, topQuery } from './queries.ts'
import { type RequestFilters, RequestsNumber } from './requests-number.tsx'
import { type HomeSearch, type PeriodName, periods, type RankingName, rankings } from './search.ts'

interface ListDefinition {
  title: string
  noun: string
  field: 'model' | 'api_key_id' | 'workspace' | 'external_user'
  /** The column that identifies a group, if it is not the one with its name. */
  idField?: string
  /** The grouping of Activity, and the filter of the request log. */
  group: 'model' | 'key' | 'workspace' | 'end_user'
  filter: keyof RequestFilters
  /** How requests get a value. */
  hint: string
}

const lists: ListDefinition[] = [
  {
    ...{ title: 'Top models', noun: 'models', field: 'model', group: 'model', filter: 'model' },
    hint: 'Models appear here with their first request.',
  },
  {
    ...{ title: 'Top API keys', noun: 'API keys', field: 'api_key_id', idField: 'api_key_hash' },
    ...{ group: 'key', filter: 'key' },
    hint: 'Give each application a key of its own to tell them apart.',
  },
  {
    ...{ title: 'Top workspaces', noun: 'workspaces', field: 'workspace', idField: 'workspace_id' },
    ...{ group: 'workspace', filter: 'workspace_id' },
    hint: 'Give each team a workspace to see what it spends.',
  },
  {
    ...{ title: 'Top end users', noun: 'end users', field: 'external_user' },
    ...{ group: 'end_user', filter: 'external_user' },
    hint: 'Send “user” in the body or x-headgate-user with each request.',
  },
]

const skeletonRows = ['first', 'second', 'third', 'fourth', 'fifth']

const formats: Record<RankingName, (value: number) => string> = {
  spend: formatMoney,
  requests: formatCount,
  tokens: formatCompact,
}

interface TopListsProps {
  selection: Selection
  period: PeriodName
  search: HomeSearch
}

/** The models, keys, workspaces and end users with the most spend, requests or tokens. */
export function TopLists({ selection, period, search }: TopListsProps) {
  const navigate = useNavigate({ from: '/' })
  const by = search.by ?? 'spend'
  const choose = (value: string) => {
    const { by: _, ...rest } = search
    const next = value === 'requests' || value === 'tokens' ? { ...rest, by: value } : rest
    void navigate({ search: next as HomeSearch, replace: true })
  }
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Most {rankings[by].label.toLowerCase()} in the last {periods[period].label}
        </Text>
        <SegmentedControl
          size="xs"
          aria-label="Rank by"
          data={Object.entries(rankings).map(([value, { label }]) => ({ value, label }))}
          value={by}
          onChange={choose}
        />
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, xl: 4 }} spacing="sm">
        {lists.map((list) => (
          <TopList key={list.field} list={list} selection={selection} period={period} by={by} />
        ))}
      </SimpleGrid>
    </Stack>
  )
}

interface TopListProps {
  list: ListDefinition
  selection: Selection
  period: PeriodName
  by: RankingName
}

function TopList({ list, selection, period, by }: TopListProps) {
  const query = useQuery(topQuery(selection, list.field, by))
  return (
    <Panel
      title={list.title}
      actions={
        <TextLink
          to="/activity"
          search={{ group: list.group, metric: by, period }}
          size="sm"
          aria-label={`All ${list.noun} in Activity`}
        >
          All
        </TextLink>
      }
    >
      {query.isPending ? (
        <Stack gap="sm" aria-busy="true" aria-label="Loading">
          {skeletonRows.map((row) => (
            <Skeleton key={row} height={26} />
          ))}
        </Stack>
      ) : (
        <QueryView query={query}>
          {({ data }) => <Ranking rows={data.data} list={list} selection={selection} by={by} />}
        </QueryView>
      )}
    </Panel>
  )
}

function Ranking({ rows, list, selection, by }: Omit<TopListProps, 'period'> & { rows: Row[] }) {
  const amountOf = (row: Row) => Number(row[rankings[by].field] ?? 0)
  const named = rows.filter((row) => row[list.field] !== null).slice(0, topCount)
  const top = Math.max(...named.map(amountOf), 0)
  if (named.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {list.hint}
      </Text>
    )
  }
  return (
    <Stack component="ol" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
      {named.map((row) => {
        const name = String(row[list.field])
        const id = String(row[list.idField ?? list.field])
        const text = formats[by](amountOf(row))
        return (
          <li key={id}>
            <Group justify="space-between" wrap="nowrap" gap="xs">
              <Text size="sm" truncate title={name}>
                {name}
              </Text>
              <Text
                size="sm"
                component="div"
                style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}
              >
                <RequestsNumber
                  selection={selection}
                  filters={{ [list.filter]: id }}
                  label={`${name}: ${text}. Show the requests`}
                >
                  {text}
                </RequestsNumber>
              </Text>
            </Group>
            <Progress
              value={top === 0 ? 0 : (amountOf(row) / top) * 100}
              size={3}
              aria-label={`Share of ${name}`}
            />
          </li>
        )
      })}
    </Stack>
  )
}
