import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { writeOffset } from '../../app/search-params.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { AliasTable } from './alias-table.tsx'

export const screen = createLazyRoute('/aliases')({ component: AliasesScreen })

const pageSize = 50

function AliasesScreen() {
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/model-aliases', {
    params: { query: { offset, limit: pageSize } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Aliases"
      description="Names for models in requests: for one model, for a group in the order it is tried, or for several by weight."
      calls={[callOf(options)]}
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: writeOffset(next) })}
        empty={
          <EmptyState title={offset > 0 ? 'No further aliases' : 'No aliases yet'}>
            An alias moves all requests for a name to another model at once, or a part of them by weight.
            Create one with POST /model-aliases.
          </EmptyState>
        }
      >
        {(aliases) => <AliasTable aliases={aliases} />}
      </PagedList>
    </Page>
  )
}
