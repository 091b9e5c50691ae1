// plotly's script is in the page, compressed: unpack it and run it. The page's policy knows its hash.
async function unpackPlotly() {
  const packed = document.getElementById("plotly");
  const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  script.remove();
  packed.textContent = "";
}
