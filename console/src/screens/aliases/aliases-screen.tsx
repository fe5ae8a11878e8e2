import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { AliasForm } from './alias-form.tsx'
import { AliasTable } from './alias-table.tsx'

export const screen = createLazyRoute('/aliases')({ component: AliasesScreen })

const pageSize = 50

function AliasesScreen() {
  const mayCreate = mayDo(useSession(), 'model_aliases:write')
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/model-aliases', {
    params: { query: { offset, limit: pageSize } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Aliases"
      docs="model-aliases"
      description="Model names of your own: one model, a list with fallbacks, or several models by weight."
      calls={[callOf(options)]}
      actions={
        mayCreate && (
          <DialogButton label="Create an alias" action="create">
            {(close) => <AliasForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: writeOffset(next) })}
        empty={
          <EmptyState title={offset > 0 ? 'No further aliases' : 'No aliases yet'}>
            With an alias, you move all requests for a name to another model, or a share of them by weight,
            without changing an application.
          </EmptyState>
        }
      >
        {(aliases) => <AliasTable aliases={aliases} />}
      </PagedList>
    </Page>
  )
}
