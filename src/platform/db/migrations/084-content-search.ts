import { sql } from 'kysely'
import { usesPostgres } from '../has-table.ts'
import { createIndex, inTransaction, type SchemaMigration } from '../migrate/steps.ts'

/**
 * The index of words in logged prompts and replies: keyed hashes, in the row itself on PostgreSQL, and on SQLite in a
 * full-text table whose entry the row refers to. It has no entry for a content that was not indexed yet.
 */
export const contentSearch: SchemaMigration = {
  steps: [
    inTransaction('add generation_contents.search_entry', async (db) => {
      const type = usesPostgres(db) ? sql`integer[]` : sql`integer`
      await db.schema.alterTable('generation_contents').addColumn('search_entry', type).execute()
      if (usesPostgres(db)) return
      await sql`create virtual table content_words
        using fts5(words, content='', contentless_delete=1, detail=none, tokenize='ascii')`.execute(db)
      // Its parts are merged a few pages at a time with each transaction: by itself it merges for up to a second at once.
      await sql`insert into content_words (content_words, rank)
        values ('automerge', 0), ('crisismerge', 1999)`.execute(db)
      await sql`create trigger content_words_delete after delete on generation_contents
        when old.search_entry is not null
        begin delete from content_words where rowid = old.search_entry; end`.execute(db)
    }),
    createIndex({
      name: 'generation_contents_unsearchable',
      table: 'generation_contents',
      columns: ['created_at'],
      where: 'search_entry is null',
    }),
    createIndex({
      name: 'generation_contents_search',
      table: 'generation_contents',
      columns: ['search_entry'],
      where: 'search_entry is not null',
      isInverted: true,
    }),
  ],
}
