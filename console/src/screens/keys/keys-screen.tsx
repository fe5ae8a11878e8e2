import { Switch } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { memberField } from '../../components/filter-fields.ts'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { NothingFound } from '../../components/search-field.tsx'
import { CreateKey } from './create-key.tsx'
import { KeyTable } from './key-table.tsx'

export const screen = createLazyRoute('/keys')({ component: KeysScreen })

const fields = {
  values: [{ ...memberField, parameter: 'creator_user_id', hint: 'Who created it' }],
  text: 'q',
}

/** The API has pages of this size. */
const pageSize = 100

function KeysScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const { offset = 0, q = '', disabled = false, creator_user_id: creator } = screen.useSearch()
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
    <DialogButton label="Create a key">{(close) => <CreateKey onClose={close} />}</DialogButton>
  )
  return (
    <Page
      title="API keys"
      description="Applications send a key with every request. It says who pays, how much they may spend, and what is allowed."
      scope="listed"
      calls={[callOf(options)]}
      actions={
        <>
          <SavedViews screen="keys" />
          {create}
        </>
      }
    >
      <ScreenFilters
        label="Search keys"
        placeholder="Name or label, member:Ada"
        fields={fields}
        filters={{ q: q || undefined, creator_user_id: creator }}
        onChange={({ q: text, creator_user_id }) =>
          void navigate({
            search: {
              ...writeText(text ?? ''),
              ...(creator_user_id !== undefined && { creator_user_id }),
              ...(disabled && { disabled }),
            },
          })
        }
      >
        <Switch
          label="Show disabled"
          checked={disabled}
          onChange={({ currentTarget: { checked } }) =>
            void navigate({
              search: ({ offset: _, disabled: __, ...rest }) => ({
                ...rest,
                ...(checked && { disabled: true }),
              }),
            })
          }
        />
      </ScreenFilters>
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 && (q !== '' || creator !== undefined) && offset === 0 ? (
            <NothingFound text={q} />
          ) : data.length === 0 ? (
            <EmptyState title={offset > 0 ? 'No further keys' : 'No keys yet'}>
              {offset > 0
                ? 'This page is past the last key.'
                : 'A key appears here once somebody creates one for an application. Give each application a key, so that you can limit and replace them one by one.'}
            </EmptyState>
          ) : (
            <KeyTable keys={data} />
          )
        }
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
