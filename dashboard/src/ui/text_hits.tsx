// What agents said, over runs: the texts that the words in the list's search field find.
import {formatAddress, wholeRun} from '../net/address';
import {displayLine} from '../scene/text';
import {useTextSearch} from './text_search';

const MAX_PAGES = 1;

export function TextHits({words}: {words: string}) {
  const {hits, off} = useTextSearch(words, null, MAX_PAGES);
  if (off) {
    return (
      <p class="hint">
        To search what agents said too, set <code>payloads.search_bytes</code> in digd.toml.
      </p>
    );
  }
  if (hits.length === 0) return null;
  return (
    <section class="hits" aria-label="What agents said">
      <h2>What agents said</h2>
      <ul>
        {hits.map((hit) => (
          <li key={`${hit.run} ${hit.seq} ${hit.event}`}>
            <a href={formatAddress({run: hit.run, view: {...wholeRun, search: words.trim()}})}>
              <bdi class="name">{displayLine(hit.run, 60)}</bdi>
              <q>
                <bdi>{displayLine(hit.excerpt.replace(/\s+/g, ' '), 200)}</bdi>
              </q>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
