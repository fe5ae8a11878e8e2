import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../../api/call.ts'
import { api, type Schemas } from '../../../api/client.ts'
import { writeOffset } from '../../../app/search-params.ts'
import { mayDo, useSession } from '../../../app/session.tsx'
import { ButtonLink } from '../../../components/button-link.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Page } from '../../../components/page.tsx'
import { PagedList } from '../../../components/paged-list.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { Time } from '../../../components/time.tsx'

export const screen = createLazyRoute('/comparisons')({ component: ComparisonsScreen })

const pageSize = 50

/** Saved comparisons: the person's own and those that are shared. */
function ComparisonsScreen() {
  const session = useSession()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/comparisons', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Comparisons"
      docs="playground#compare-models-on-many-prompts"
      description="Replies of several models to the same prompts, and which of them people prefer."
      calls={[callOf(options)]}
      actions={
        mayDo(session, 'inference:write') && (
          <ButtonLink to="/comparisons/new" size="xs">
            New comparison
          </ButtonLink>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: writeOffset(next) })}
        empty={
          <EmptyState title={offset > 0 ? 'No further comparisons' : 'No comparisons yet'}>
            Run prompts against several models, save the replies, and let your team vote.
          </EmptyState>
        }
      >
        {(rows) => <DataTable columns={columns} rows={rows} keyOf={({ id }) => id} minWidth={480} />}
      </PagedList>
    </Page>
  )
}

const visibilityNames = { private: 'Private', workspace: 'Workspace', organization: 'Organization' }

const columns: Column<Schemas['ComparisonSummary']>[] = [
  {
    header: 'Name',
    breaksWords: true,
    maxWidth: 280,
    render: ({ id, name }) => (
      <TextLink to="/comparisons/$id" params={{ id }}>
        {name}
      </TextLink>
    ),
  },
  {
    header: 'Models',
    breaksWords: true,
    maxWidth: 360,
    render: ({ models, is_blind }) => (
      <Text size="sm" lineClamp={2}>
        {is_blind ? `${models.length} models` : models.join(', ')}
      </Text>
    ),
  },
  { header: 'Prompts', isNumber: true, render: ({ prompt_count }) => prompt_count },
  {
    header: 'Visible to',
    render: ({ visibility }) => (
      <Badge variant="default" tt="none">
        {visibilityNames[visibility]}
      </Badge>
    ),
  },
  { header: 'Created', visibleFrom: 'sm', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
]
