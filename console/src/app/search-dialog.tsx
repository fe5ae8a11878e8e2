import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight } from '@mantine/spotlight'
import { useEffect, useState } from 'react'
import { useSearchGroups } from './search-objects.ts'

const debounceMs = 200
const placeholder = 'Search, paste an ID or type an action'

/** The field of the search, and what it finds. */
export function SearchDialog() {
  const [text, setText] = useState('')
  const [settledText] = useDebouncedValue(text, debounceMs)
  const groups = useSearchGroups(settledText)
  const found = groups.flatMap(({ actions }) => actions.map(({ id }) => id)).join('\n')
  // The library selects the first entry when somebody types, which is before the server has answered.
  useEffect(() => {
    if (settledText !== '' && found !== '') selectFirst()
  }, [settledText, found])
  return (
    <Spotlight
      actions={groups}
      query={text}
      onQueryChange={setText}
      shortcut={null}
      nothingFound="Nothing found. Search by any part of a name, a whole ID or the start of a key’s hash."
      searchProps={{ placeholder, 'aria-label': placeholder }}
      attributes={{ content: { 'aria-label': 'Search' } }}
      highlightQuery
      scrollable
      maxHeight={400}
      limit={60}
    />
  )
}

/** Selects the entry that Enter opens, in the way of the library, unless one is selected. */
function selectFirst(): void {
  const list = document.querySelector('[role="dialog"]')
  if (list?.querySelector('[data-selected]')) return
  list?.querySelector('[data-action]')?.setAttribute('data-selected', 'true')
}
