import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { NothingFound } from '../../components/search-field.tsx'
import { CreateKey } from './create-key.tsx'
import { KeyFilters } from './key-filters.tsx'
import { KeyTable } from './key-table.tsx'
import type { KeysSearch } from './route.ts'

export const screen = createLazyRoute('/keys')({ component: KeysScreen })

/** The API has pages of this size. */
const pageSize = 100

function KeysScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const search = screen.useSearch()
  const { offset = 0, q = '', disabled = false, creator_user_id: creator } = search
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/keys', {
    params: {
      query: {
        ...(offset > 0 && { offset }),
        ...(disabled && { include_disabled: true }),
        ...writeText(q),
        ...(creator !== undefined && { creator_user_id: creator }),
        ...(workspaceId !== null && { workspace_id: workspaceId }),
      },
    },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const create = mayDo(session, 'keys:write') && (
    <DialogButton label="Create a key" action="create">
      {(close) => <CreateKey onClose={close} />}
    </DialogButton>
  )
  return (
    <Page
      title="API keys"
      docs="billing#limits"
      description="Applications authenticate with a key. Keys have spending limits, an owner and rules."
      scope="listed"
      calls={[callOf(options)]}
      actions={
        <>
          <SavedViews screen="keys" />
          {mayDoEverywhere(session, 'keys:write') && <ButtonLink to="/import">Import</ButtonLink>}
          {create}
        </>
      }
    >
      <KeyFilters filters={search} onChange={(next) => void navigate({ search: next })} />
      <QueryView query={query}>
        {({ data }) => (data.length === 0 ? <NoKeys search={search} /> : <KeyTable keys={data} />)}
      </QueryView>
      {query.data && (
        <Pager
          offset={offset}
          size={pageSize}
          total={query.data.data.length === pageSize ? null : offset + query.data.data.length}
          onChange={(next) =>
            void navigate({
              search: ({ offset: _, ...rest }) => ({ ...rest, ...writeOffset(next) }),
            })
          }
        />
      )}
    </Page>
  )
}

function NoKeys({ search: { q = '', offset = 0, creator_user_id } }: { search: KeysSearch }) {
  if (offset > 0) return <EmptyState title="No further keys">No more keys.</EmptyState>
  if (q !== '' || creator_user_id !== undefined) return <NothingFound text={q} />
  return (
    <EmptyState title="No keys yet">
      Create a key for each application, to limit and replace them independently.
    </EmptyState>
  )
}
